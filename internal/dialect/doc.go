// Package dialect has one folder for each foreign tool whose tests, flags or results brunt understands. All that
// belongs to a tool is in its folder.
//
// A dialect compiles to a plan and leaves sending, measuring and judging to the wings below. It takes over the tool's
// formats and lines to the byte where programs read them, and its bugs only where a result depends on them; what
// differs is on the tool's page.
//
// The other folders: tools lists the tools that are linked; command has what their commands share; endpoints is shared
// by the formats for HTTP; service makes plans from URLs.
package dialect
