// Preact with htm: `html` makes elements of tagged templates. The one place that knows the vendor.
import { Fragment, createContext, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, createContext, render };
export {
  useCallback,
  useContext,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useReducer,
  useRef,
  useState,
} from "./vendor/hooks.js";
