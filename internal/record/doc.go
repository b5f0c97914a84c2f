// Package record reads, writes and losslessly merges run bundles. A bundle that is being written survives a crash.
//
// A bundle is a folder with these files: plan.yml (the resolved plan, secrets replaced), run.json (a Run),
// intervals.ndjson (an interval a line, flushed when the interval ends), errors.ndjson (the first samples of each
// class), faults.ndjson (the faults injected, as they happened), writes.ndjson (the outcome of writes that are to be
// read back), verified.ndjson (what reading back after faults found) and observe/ (what else was observed).
//
// It holds facts only: what a result means is for the wings above to say, and can be said again later, by other rules.
// Histograms merge without loss, so the sum of n parts is the record that one machine would have written. Each field
// of Run has a tag that says how parts are combined.
package record
