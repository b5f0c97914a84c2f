// Package extending has the smallest change that adds something to brunt, for each thing that brunt is made of: a
// protocol, the tool of another project, a counter, and a section of the report. docs/contributing.md describes them.
// To try one, apply it with git apply, from the root of the module.
package extending
