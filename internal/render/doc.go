// Package render turns values into text, tables, charts and pages. It knows units, languages and widths of terminals,
// and nothing of what the values mean.
//
// A text that a user may read in a report is a value (message): an id with typed arguments, whose words are in one
// catalogue for each language. A layer hands on values, never text, so that the last one can choose the language, the
// number of digits and the form. Tables are cells with a value, a unit and an emphasis; the same table becomes text,
// Markdown, CSV or a part of a page.
//
// The rooms: units formats numbers; message has the catalogues; cell lays out tables; svg draws charts that stand in
// documents without scripts; page makes HTML with charts that can be zoomed; junit writes results for CI servers.
//
// There are two ways to draw a chart, on purpose. svg is for what is printed, compared and mailed: it needs no script,
// and its files are stable. uPlot, inside page, is for the page of one run, whose series have thousands of points, are
// zoomed together and grow while the load runs. A chart is drawn by one of them, never by both.
package render
