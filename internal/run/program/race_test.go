//go:build race

package program

// fewer says that simulations, which have no goroutines, run for fewer servers: they all run without the race detector.
const fewer = true
