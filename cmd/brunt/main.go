// Command brunt finds out what a database or network service can take, and proves it.
package main

import "brunt/command"

// version is set by the build.
var version = "dev"

func main() { command.Main(version) }
