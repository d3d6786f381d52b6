// Whether anybody sees this tab. A browser keeps six connections to a server for all its tabs, so one
// that nobody sees lets go of its watches, and goes on from where they were once it is seen.
const PATIENCE = 5000; // milliseconds: who only looks elsewhere for a moment keeps them

/** `{signal, stop}`: the signal aborts when the tab has been hidden for a while. */
export function watchHidden() {
  const control = new AbortController();
  let timer = 0;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(end, PATIENCE);
  };
  const stop = () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
  const end = () => {
    stop();
    control.abort();
  };
  document.addEventListener("visibilitychange", look);
  look();
  return { signal: control.signal, stop };
}

/** Wait until the tab is seen, or `signal` aborts. */
export function whenShown(signal) {
  if (!document.hidden) return Promise.resolve();
  return new Promise((done) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      done();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look, { once: true });
  });
}
