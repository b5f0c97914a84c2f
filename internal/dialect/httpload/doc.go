// Package httpload has what the dialects of HTTP load generators (wrk, ab, hey, vegeta) share: brunt's own flags among
// those of a tool, options as getopt reads them, and the requests of a load with their times.
package httpload
