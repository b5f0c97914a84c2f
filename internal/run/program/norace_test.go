//go:build !race

package program

const fewer = false
