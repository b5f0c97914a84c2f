package tank

import "slices"

// followed are the keys of the sections that a configuration's load depends on.
var followed = map[string][]string{
	"core":     {"artifacts_base_dir", "artifacts_dir"},
	"autostop": {"autostop", "report_file"},
	"phantom": {"address", "ammo_limit", "ammo_type", "ammofile", "autocases", "chosen_cases", "client_certificate",
		"client_key", "enum_ammo", "header_http", "headers", "instances", "load_profile", "loop", "multi", "phout_file",
		"port", "ssl", "timeout", "uris"},
	"bfg": {"ammo_limit", "ammo_type", "ammofile", "autocases", "chosen_cases", "enum_ammo", "gun_config", "gun_type",
		"instances", "load_profile", "loop", "uris"},
	"pandora": {"config_content", "config_file"},
}

// refusedKeys are keys of phantom that must be empty, or as they are by default, with the reason.
var refusedKeys = map[string]string{
	"client_cipher_suites": "Go's TLS chooses the suites",
	"config":               "phantom's own configuration isn't read",
	"gatling_ip":           "the system chooses the address",
	"method_options":       "they are for phantom's own methods",
}

// refusedValues are keys of phantom of which one value is taken.
var refusedValues = []string{"method_prefix", "tank_type"}

// The reasons for which keys have no effect.
const (
	ofStepper = "lists are read each time, without a cache"
	ofPhantom = "it is about phantom's program"
	ofTank    = "Tank writes it, or it is for Tank's server"
	ofLocks   = "brunt takes no lock"
	ofReader  = "it is about how Tank reads a generator's results"
	ofPandora = "it is about Pandora's program"
	ofPython  = "it is about BFG's processes"
	toNode    = "the system places the program"
)

// without are the keys that don't change the load, with the reason.
var without = map[string]map[string]string{
	"core": {"affinity": toNode, "taskset_path": toNode, "ammo_validation": "lists are always checked as a whole",
		"api_jobno": ofTank, "cmdline": ofTank, "exitcode": ofTank, "uuid": ofTank, "pid": ofTank, "message": ofTank,
		"operator": ofTank, "flush_config_to": "the record has the plan", "ignore_lock": ofLocks, "lock_dir": ofLocks,
		"debug": "there is no log", "aggregator_max_wait": ofReader, "aggregator_max_termination_timeout": ofReader,
		"skip_generator_check": ofReader},
	"phantom": {"additional_libs": ofPhantom, "affinity": toNode, "buffered_seconds": ofReader, "cache_dir": ofStepper,
		"connection_test": "connections are opened before the load anyway", "file_cache": ofStepper,
		"force_stepping": ofStepper, "name": "it names a part of multi in phantom's files",
		"phantom_http_entity":    "the length of answers isn't limited",
		"phantom_http_field":     "the head of an answer may be 64 KiB long",
		"phantom_http_field_num": "fields aren't counted", "phantom_http_line": "the head of an answer may be 64 KiB long",
		"phantom_modules_path": ofPhantom, "phantom_path": ofPhantom, "source_log_prefix": ofPhantom,
		"threads": "brunt has an event loop for each core that it needs", "use_caching": ofStepper,
		"writelog": "no requests and answers are logged"},
	"bfg": {"address": "the http gun has base_address", "cache_dir": ofStepper, "cached_stpd": ofStepper,
		"file_cache": ofStepper, "force_stepping": ofStepper, "green_threads_per_instance": ofPython,
		"header_http": "lines of BFG have no header", "headers": "lines of BFG have no header", "pip": ofPython,
		"use_caching": ofStepper, "worker_type": ofPython},
	"pandora": {"affinity": toNode, "buffered_seconds": ofReader, "expvar": ofPandora, "pandora_cmd": ofPandora,
		"report_file": "the phout is among the artifacts", "resource": "nothing is downloaded",
		"resources": "nothing is downloaded"},
}

// keysOf returns the keys that a section may have.
func keysOf(section string) []string {
	keys := slices.Concat(followed[section], sortedKeys(without[section]))
	switch section {
	case "core":
		return keys
	case "phantom":
		keys = slices.Concat(keys, sortedKeys(refusedKeys), refusedValues)
	}
	return append(keys, "enabled", "package")
}
