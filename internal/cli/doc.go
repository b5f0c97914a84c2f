// Package cli is the command line. Its commands bind flags, call one function, and print the result. What a command
// does is decided below; what is here can be read as the list of what users may ask for.
//
// A mistake costs one line: what is wrong, where, and what to do. It is found before anything is sent.
package cli
