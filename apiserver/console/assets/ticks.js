// Renders a component periodically, to update ages.
import { useEffect, useReducer } from "./html.js";

export function useTick(seconds) {
  const [, again] = useReducer((count) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(again, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}
