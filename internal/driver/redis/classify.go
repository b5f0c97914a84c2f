package redis

import (
	"strings"

	"brunt/internal/driver"
)

// classOf maps the first word of an error to a class.
func classOf(code string) driver.Class {
	switch code {
	case "MOVED", "ASK", "TRYAGAIN", "CLUSTERDOWN", // the cluster is moving slots
		"LOADING", "READONLY", "MASTERDOWN", "NOREPLICAS", // the node isn't the one to ask now
		"BUSY": // a script blocks the server
		return driver.Retryable
	}
	return driver.Server
}

// maxErrorText is how much of an error is kept.
const maxErrorText = 300

// serverFailure is an error that the server answered with: "CODE what went wrong".
func serverFailure(text []byte) driver.Failure {
	s := string(text[:min(len(text), maxErrorText)])
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ")
	code, _, _ := strings.Cut(s, " ")
	if !isCode(code) {
		code = ""
	}
	return driver.Failure{Class: classOf(code), Code: code, Text: s}
}

// isCode tells an error's code, by convention in capitals, from an ordinary word.
func isCode(word string) bool {
	for _, c := range word {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return word != ""
}
