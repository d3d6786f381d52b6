// A modal dialog of the browser: it traps the focus, closes on Escape, and restores the focus.
import { html, useLayoutEffect, useRef } from "./html.js";

export function Dialog({ title, close, children, wide }) {
  const dialog = useRef();
  // before the browser paints, so that typed keys go to the dialog
  useLayoutEffect(() => {
    const back = document.activeElement;
    dialog.current.showModal();
    return () => back?.focus?.();
  }, []);
  const onClick = (event) => event.target === dialog.current && close();
  return html`
    <dialog ref=${dialog} class=${wide ? "wide" : ""} aria-label=${title} onClose=${close} onClick=${onClick}>
      <div class="sheet">
        <header><h2>${title}</h2><button class="icon" aria-label="Close" onClick=${close}>✕</button></header>
        ${children}
      </div>
    </dialog>`;
}
