package redis

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// Slots is the number of hash slots in a cluster.
const Slots = 16384

// Slot returns the slot of a key: CRC16 (XMODEM: polynomial 0x1021, initial value 0, no reflection) modulo
// Slots. If the key has a non-empty part in braces, only the first such part is hashed (Redis cluster
// specification).
func Slot(key []byte) uint16 {
	t := makeTable()
	return t.slot(key)
}

// crcTable is the CRC's lookup table, by byte.
type crcTable [256]uint16

func makeTable() (t crcTable) {
	for i := range t {
		crc := uint16(i) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
		t[i] = crc
	}
	return t
}

func (t *crcTable) slot(key []byte) uint16 {
	if open := bytes.IndexByte(key, '{'); open >= 0 {
		if end := bytes.IndexByte(key[open+1:], '}'); end > 0 {
			key = key[open+1 : open+1+end]
		}
	}
	return t.crc(key) % Slots
}

func (t *crcTable) crc(b []byte) (crc uint16) {
	for _, c := range b {
		crc = crc<<8 ^ t[byte(crc>>8)^c]
	}
	return crc
}

// Redirect is the address that a cluster names for a key.
type Redirect struct {
	Ask     bool // for this request only, after ASKING; otherwise the slot has moved
	Slot    uint16
	Address string // host:port; ":port" means the host that answered
}

// ParseRedirect parses an error "MOVED slot host:port" or "ASK slot host:port".
func ParseRedirect(text string) (r Redirect, ok bool) {
	fields := bytes.Fields([]byte(text))
	if len(fields) != 3 || string(fields[0]) != "MOVED" && string(fields[0]) != "ASK" {
		return Redirect{}, false
	}
	slot, err := strconv.ParseUint(string(fields[1]), 10, 16)
	colon := bytes.LastIndexByte(fields[2], ':')
	if err != nil || slot >= Slots || colon < 0 {
		return Redirect{}, false
	}
	if _, err := strconv.ParseUint(string(fields[2][colon+1:]), 10, 16); err != nil {
		return Redirect{}, false
	}
	return Redirect{Ask: string(fields[0]) == "ASK", Slot: uint16(slot), Address: string(fields[2])}, true
}

// KeyWord returns the index of a command's first key among its words, or −1 if it has none and may go to any
// node. It follows the key specifications of Redis's COMMAND INFO. Commands that aren't listed here have their
// key first.
func KeyWord(words []string) int {
	at := 1
	switch strings.ToUpper(words[0]) {
	case "PING", "ECHO", "INFO", "TIME", "DBSIZE", "SCAN", "KEYS", "RANDOMKEY", "FLUSHDB", "FLUSHALL", "CLUSTER", "CONFIG",
		"SCRIPT", "FUNCTION", "COMMAND", "CLIENT", "MULTI", "EXEC", "DISCARD", "UNWATCH", "PUBLISH", "PUBSUB", "WAIT",
		"WAITAOF",
		"AUTH", "HELLO", "SELECT", "LATENCY", "SLOWLOG", "ACL", "ROLE", "SAVE", "BGSAVE", "LASTSAVE", "LOLWUT", "RESET",
		"QUIT",
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

// afterCount returns the index after the word with the number of keys, or −1 if there are no keys.
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
