// The problem of an object in a sentence: errors of checks, and failed pods, Jobs and workloads.
const WAITS_IN_VAIN = /BackOff|^Err|Error$|InvalidImageName/;

/** Built-in kinds that are checked, as `group/plural`. */
export const LOOKED_AT = ["/pods", "batch/jobs", "apps/deployments", "apps/statefulsets", "apps/daemonsets", "apps/replicasets"];

/** The problem; "" if there is none. */
export function troubleOf(object) {
  return ofChecks(object) || (object.kind === "Pod" ? ofPod(object) : ofConditions(object));
}

function ofChecks({ status }) {
  const errors = status?.fieldErrors || [];
  if (errors.length) return errors.map((each) => `${each.field}: ${each.detail}`).join("; ");
  if (status?.health?.healthy === false) return [status.health.message].flat().filter(Boolean).join("; ") || "unhealthy";
  return "";
}

function ofPod({ status = {} }) {
  if (status.phase === "Failed") return words("Failed", status.reason, status.message || ended(status));
  const containers = [...(status.initContainerStatuses || []), ...(status.containerStatuses || [])];
  const waiting = containers.find(({ state }) => WAITS_IN_VAIN.test(state?.waiting?.reason || ""));
  if (waiting) return words(waiting.state.waiting.reason, `container ${waiting.name}`, waiting.state.waiting.message);
  const unplaced = (status.conditions || []).find(
    ({ type, status: is, reason }) => type === "PodScheduled" && is === "False" && reason === "Unschedulable");
  return unplaced ? words(unplaced.reason, unplaced.message) : "";
}

/** The result of the first container that failed. */
function ended({ containerStatuses = [] }) {
  const failed = containerStatuses.find(({ state }) => state?.terminated?.exitCode);
  return failed && `container ${failed.name} exited with code ${failed.state.terminated.exitCode}`;
}

function ofConditions({ status }) {
  const found = (status?.conditions || []).find(({ type, status: is, reason }) =>
    (is === "True" && (type === "Failed" || type === "ReplicaFailure")) ||
    (type === "Progressing" && reason === "ProgressDeadlineExceeded"));
  return found ? words(found.reason || found.type, found.message) : "";
}

const words = (...parts) => parts.filter(Boolean).join(": ");
