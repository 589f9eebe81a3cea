// Light, dark or the system's theme. It is the only thing that this browser stores permanently.

const KEY = "memnet.theme";
const THEMES = ["auto", "light", "dark"];

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // a browser that lets pages remember nothing
  }
}

/** Apply the stored theme and follow the control. */
export function startTheme(control) {
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    control.value = theme;
  };
  apply(THEMES.includes(stored()) ? stored() : "auto");
  control.addEventListener("change", () => {
    apply(control.value);
    try {
      localStorage.setItem(KEY, control.value);
    } catch {
      // It applies until the page is closed.
    }
  });
}
