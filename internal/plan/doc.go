// Package plan describes a run: what to send, when, where and by which rules. It consists of plain data and its
// validation. Every dialect is compiled to a Plan, and whatever runs, sends, judges or reports starts from one.
//
// A plan is data, so it can be printed, compared, sent to workers and kept in the bundle. All that can be wrong with
// it is found before anything is sent, with the line and column of the fault.
//
// The rooms: planfile is the text format of plans, one table of fields from which the reader, the writer, the limits
// and the JSON Schema are derived (form is what all formats in YAML have in common); metric names what thresholds,
// comparisons and histories are about; workload makes a plan ready to run: it picks operation number i, fills its
// arguments, and carries it through its steps (Cursor). BEGIN and COMMIT are ordinary steps. The Cursor decides what
// follows a step: the next one, a pause, a retry or the rollback. So the engine knows nothing of transactions.
package plan
