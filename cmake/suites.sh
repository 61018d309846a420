# Runs steps and suites of tests and adds up their results; sourced by bash (./test, .ci/run). A suite is a program whose last line is
# "N passed, N failed, N skipped"; one that ends without that line, or with an exit code that contradicts it, counts as a failure.

g4_passed=0 g4_failed=0 g4_skipped=0

# g4_step NAME COMMAND...: something that must work, like a build. Counts only if it fails. Shows its output then, and in a terminal.
g4_step() {
  local name=$1 code=0 log started=$SECONDS
  shift
  log=$(mktemp)
  if [[ -t 1 ]]; then
    "$@" || code=$?
  else
    "$@" < /dev/null > "$log" 2>&1 || code=$?
  fi
  if [[ $code -ne 0 ]]; then
    cat "$log"
    g4_failed=$((g4_failed + 1))
  fi
  rm -f "$log"
  printf '%-36s %s  (%d s)\n' "$name" "$([[ $code -eq 0 ]] && echo done || echo FAILED)" $((SECONDS - started))
  return "$code"
}

# g4_suite [--show] NAME COMMAND...: shows all that the suite prints with --show or if a test fails, else what was skipped and noted.
g4_suite() {
  local show='' name code=0 last log started=$SECONDS passed=0 failed=0 skipped=0
  [[ $1 != --show ]] || { show=yes && shift; }
  name=$1
  shift
  log=$(mktemp)
  "$@" < /dev/null > "$log" 2>&1 || code=$?
  last=$(tail -n 1 "$log" | tr -d '\0')
  if [[ $last =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
    passed=${BASH_REMATCH[1]} failed=${BASH_REMATCH[2]} skipped=${BASH_REMATCH[3]}
    if [[ $code -ne 0 && $failed -eq 0 ]]; then
      failed=1 last="$last, but exit code $code"
    fi
  else
    failed=1 last="ended with exit code $code and without a total"
  fi
  if [[ $failed -gt 0 || -n $show ]]; then
    cat "$log"
  else
    grep -aE '^(skipped|note:) ' "$log" || true
  fi
  rm -f "$log"
  g4_passed=$((g4_passed + passed)) g4_failed=$((g4_failed + failed)) g4_skipped=$((g4_skipped + skipped))
  printf '%-36s %s  (%d s)\n' "$name" "$last" $((SECONDS - started))
}

# g4_totals: prints the last line; false if anything failed.
g4_totals() {
  echo "$g4_passed passed, $g4_failed failed, $g4_skipped skipped"
  [[ $g4_failed -eq 0 ]]
}
