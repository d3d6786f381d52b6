// The signed-in user and their rights.
import { ask, getToken, setToken, signedOut } from "./api.js";
import { discover, kinds } from "./kinds.js";
import { store } from "./store.js";

const AUTHENTICATION = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** `{username, groups}`; null if no user is signed in, undefined while this is unknown. */
export const user = store(undefined);

/** Start with the user of the stored token, or with the default user of an open server. */
export async function begin() {
  try {
    await enter();
  } catch (error) {
    if (error.code !== 401 && error.code !== 403) throw error;
    user.set(null);
  }
}

/** Sign in with a token. If the server refuses it, removes the token and throws ApiError. */
export async function signIn(token) {
  setToken(token.trim());
  try {
    await enter();
  } catch (error) {
    setToken("");
    throw error;
  }
}

async function enter() {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const [review] = await Promise.all([
    ask(AUTHENTICATION, { method: "POST", body }),
    discover(),
  ]);
  user.set(review.status.userInfo);
}

export function signOut() {
  setToken("");
  kinds.set(null);
  user.set(null);
}

/** Whether signing out has an effect: an open server accepts everyone. */
export const hasToken = () => getToken() !== "";

signedOut.subscribe((out) => out && user.get() && signOut());

/** Whether the user may `verb` objects of a kind; `{allowed, reason}`. */
export async function may(verb, kind, namespace = "", name = "", subresource = "") {
  const resourceAttributes = {
    verb, name, namespace, subresource,
    group: kind.group, version: kind.version, resource: kind.plural,
  };
  const body = {
    apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  };
  const { status } = await ask(AUTHORIZATION, { method: "POST", body });
  return { allowed: status.allowed, reason: status.reason || "you may not" };
}
