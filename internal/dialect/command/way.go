package command

import (
	"github.com/spf13/pflag"

	"brunt/internal/plan"
)

// BindWay binds the flags that say how connections are opened.
func BindWay(fs *pflag.FlagSet, w *plan.Way) {
	fs.StringArrayVar(&w.Resolve, "resolve", nil,
		"use another address: host:port:address, or the path of a Unix socket (repeatable)")
	fs.StringVar(&w.Via, "via", "",
		"HTTP proxy through which connections go, by CONNECT: http://[user:password@]host:port")
	fs.StringVar(&w.Announce, "proxy-protocol", "", "begin connections with a header of the PROXY protocol: v1 or v2")
}
