// Before the first paint: the theme that was chosen, where one was. A plain script, for modules wait.
"use strict";
{
  const chosen = localStorage.getItem("inkube.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
