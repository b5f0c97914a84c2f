// Command carsload is brunt with a module of one's own for k6 scripts: carsload k6 run script.js.
package main

import (
	"brunt/command"
	_ "brunt/examples/go-k6-module/cars"
)

func main() { command.Main("") }
