// Command memload is brunt with a protocol of one's own: memload run plan.yml.
package main

import (
	"brunt/command"
	_ "brunt/examples/go-protocol/memcached"
)

func main() { command.Main("") }
