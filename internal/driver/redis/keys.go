package redis

import (
	"slices"
	"strings"
)

// keyWord is which of a command's words is its first key, or −1 if it has none: then any node may be
// asked. It follows the key specifications that Redis' COMMAND INFO gives; commands that aren't named
// here have their key first.
func keyWord(words []string) int {
	at := 1
	switch strings.ToUpper(words[0]) {
	case "PING", "ECHO", "INFO", "TIME", "DBSIZE", "SCAN", "KEYS", "RANDOMKEY", "FLUSHDB", "FLUSHALL", "CLUSTER", "CONFIG",
		"SCRIPT", "FUNCTION", "COMMAND", "CLIENT", "MULTI", "EXEC", "DISCARD", "UNWATCH", "PUBLISH", "PUBSUB", "WAIT", "WAITAOF",
		"AUTH", "HELLO", "SELECT", "LATENCY", "SLOWLOG", "ACL", "ROLE", "SAVE", "BGSAVE", "LASTSAVE", "LOLWUT", "RESET", "QUIT",
		"ASKING", "READONLY", "READWRITE":
		return -1
	case "BITOP", "OBJECT", "XINFO", "XGROUP":
		at = 2
	case "MEMORY", "DEBUG":
		if len(words) < 2 || !strings.EqualFold(words[1], "USAGE") && !strings.EqualFold(words[1], "OBJECT") {
			return -1
		}
		at = 2
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO", "BLMPOP", "BZMPOP":
		at = afterCount(words, 2)
	case "LMPOP", "ZMPOP", "SINTERCARD", "ZINTERCARD", "ZUNION", "ZINTER", "ZDIFF":
		at = afterCount(words, 1)
	case "XREAD", "XREADGROUP":
		at = afterWord(words, "STREAMS")
	case "MIGRATE":
		at = 3
	}
	if at >= len(words) {
		return -1
	}
	return at
}

// afterCount is the word after the number of keys, or −1 if there are none.
func afterCount(words []string, count int) int {
	if count >= len(words) || words[count] == "0" {
		return -1
	}
	return count + 1
}

func afterWord(words []string, word string) int {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, word) }); i >= 0 {
		return i + 1
	}
	return -1
}
