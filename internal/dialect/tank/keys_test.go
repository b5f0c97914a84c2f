package tank

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// schemaKeys are the keys of Yandex Tank's schemas (master of March 2025: core/config/schema.yaml and
// plugins/*/config/schema.yaml, schema.py).
var schemaKeys = map[string]string{
	"core": "affinity ammo_validation api_jobno artifacts_base_dir artifacts_dir cmdline exitcode flush_config_to " +
		"ignore_lock uuid pid message lock_dir operator taskset_path debug aggregator_max_wait " +
		"aggregator_max_termination_timeout skip_generator_check",
	"autostop": "autostop report_file",
	"phantom": "additional_libs address affinity ammo_limit ammo_type ammofile autocases buffered_seconds cache_dir " +
		"chosen_cases client_certificate client_cipher_suites client_key config connection_test enum_ammo file_cache " +
		"force_stepping gatling_ip header_http headers instances load_profile loop method_options method_prefix multi " +
		"name phantom_http_entity phantom_http_field phantom_http_field_num phantom_http_line phantom_modules_path " +
		"phantom_path phout_file port source_log_prefix ssl tank_type threads timeout uris use_caching writelog",
	"bfg": "address ammo_limit ammo_type ammofile autocases cache_dir cached_stpd chosen_cases enum_ammo file_cache " +
		"force_stepping green_threads_per_instance gun_config gun_type header_http headers instances load_profile loop " +
		"pip uris use_caching worker_type",
	"pandora": "affinity buffered_seconds config_content config_file expvar pandora_cmd report_file resource resources",
}

// Each key of Tank's schemas is followed, refused by its name, or has no effect, as the page says with the reason.
func TestKeysAreThoseOfTank(t *testing.T) {
	page, err := os.ReadFile("../../../docs/tank.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## Keys")
	for section, text := range schemaKeys {
		rows := ""
		for line := range strings.SplitSeq(table, "\n") {
			if strings.HasPrefix(line, "| `"+section+"` |") {
				rows += line
			}
		}
		known := keysOf(section)
		for _, key := range strings.Fields(text) {
			if !slices.Contains(known, key) {
				t.Errorf("%s: %s is unknown", section, key)
			}
			if !strings.Contains(rows, "`"+key+"`") {
				t.Errorf("%s: %s isn't in the page's table", section, key)
			}
			if why, quiet := without[section][key]; quiet && !strings.Contains(rows, why) {
				t.Errorf("%s: %s: the page doesn't say: %s", section, key, why)
			}
			if why, refused := refusedKeys[key]; refused && section == "phantom" && !strings.Contains(rows, why) {
				t.Errorf("%s: %s: the page doesn't say: %s", section, key, why)
			}
		}
		for _, key := range known {
			if own := key == "enabled" || key == "package"; !own && !slices.Contains(strings.Fields(text), key) {
				t.Errorf("%s: %s isn't a key of Tank's", section, key)
			}
		}
	}
}

// What can't be followed is refused by its name.
func TestRefusedKeys(t *testing.T) {
	for key, want := range map[string]string{
		"method_options: x":   "method_options isn't available: they are for phantom's own methods",
		"gatling_ip: 1.2.3.4": "gatling_ip isn't available: the system chooses the address", "config: x": "config isn't",
		"client_cipher_suites: x": "client_cipher_suites isn't", "tank_type: none": "tank_type none isn't",
		"method_prefix: x": "method_prefix x isn't", "nothing: 1": `unknown key "nothing"`,
	} {
		_, err := Load(&Options{Patches: []string{"{phantom: {enabled: true, address: 'h:1', uris: [/], load_profile: " +
			"{load_type: rps, schedule: 'const(1,1s)'}, " + key + "}}"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
	c, err := Load(&Options{Patches: []string{"{core: {ammo_validation: skip}, phantom: {enabled: true, address: 'h:1', " +
		"uris: [/], load_profile: {load_type: rps, schedule: 'const(1,1s)'}, method_options: ''}}"}})
	if err != nil || len(c.streams) != 1 {
		t.Errorf("%v", err)
	}
}
