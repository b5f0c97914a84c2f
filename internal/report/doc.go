// Package report presents a run's record: as tables of cells, from which text for terminals, Markdown and pages are
// made; as JSON and CSV; and as progress lines of a live run. It reads records and does not depend on how a run is
// executed, so every report can be made again from the bundle.
//
// The reader's first question is answered first: does it hold, and may I trust that? Then the figures, then what
// stands out, then the rest.
//
// The rooms: live is the page of a run under way; export streams intervals to monitoring systems; spool queues text
// before writers that may block.
package report
