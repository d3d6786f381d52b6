#!/usr/bin/env bash
# The second step of action.yml: start a server or prepare envtest, and export the result.
set -euo pipefail
inkube="$RUNNER_TEMP/inkube/bin/inkube"
read -r -a options <<<"$ARGUMENTS"
case "$MODE" in
envtest)
  assets=$("$inkube" envtest-assets "${options[@]}" "$RUNNER_TEMP/inkube/assets")
  echo "KUBEBUILDER_ASSETS=$assets" >>"$GITHUB_ENV"
  echo "assets=$assets" >>"$GITHUB_OUTPUT"
  ;;
validate)
  "$inkube" validate --output github "${options[@]}"
  ;;
serve)
  kubeconfig="$RUNNER_TEMP/inkube/kubeconfig" log="$RUNNER_TEMP/inkube/serve.log"
  : >"$log"  # the shell of the server may create it later than sed reads it
  # the server outlives this step: the runner ends it with the job
  nohup "$inkube" serve --in-memory --port "$PORT" --kubeconfig "$kubeconfig" "${options[@]}" >"$log" 2>&1 &
  server=$!
  for _ in $(seq 600); do
    url=$(sed -n 's/^inkube serves on //p' "$log")
    [ -z "$url" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$log"; exit 1; }
    sleep 0.1
  done
  [ -n "$url" ] || { cat "$log"; exit 1; }
  echo "KUBECONFIG=$kubeconfig" >>"$GITHUB_ENV"
  printf 'url=%s\nkubeconfig=%s\n' "$url" "$kubeconfig" >>"$GITHUB_OUTPUT"
  echo "inkube serves on $url"
  ;;
*)
  echo "::error::mode is serve, envtest or validate, not $MODE"
  exit 2
  ;;
esac
