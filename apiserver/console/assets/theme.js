// Sets the selected theme before the first paint. A plain script, because modules run later.
"use strict";
{
  const chosen = localStorage.getItem("inkube.theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}
