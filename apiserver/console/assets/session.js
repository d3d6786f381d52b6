// Who is signed in, and what they may do.
import { ask, getToken, setToken, signedOut } from "./api.js";
import { discover, kinds } from "./kinds.js";
import { store } from "./store.js";

const AUTHENTICATION = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const AUTHORIZATION = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** `{username, groups}`, null while nobody is signed in, undefined before that is known. */
export const user = store(undefined);

/** Begin: as whom the kept token says, or as whoever an open server takes everybody for. */
export async function begin() {
  try {
    await enter();
  } catch (error) {
    if (error.code !== 401 && error.code !== 403) throw error;
    user.set(null);
  }
}

/** Sign in with a token. Throws ApiError, and forgets the token, where the server refuses it. */
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

/** Whether leaving is of any use: an open server takes everybody in again. */
export const hasToken = () => getToken() !== "";

signedOut.subscribe((out) => out && user.get() && signOut());

/** Whether the reader may `verb` objects of a kind; `{allowed, reason}`. */
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
