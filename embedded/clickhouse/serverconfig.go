package chengine

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mintlake/mintlake/internal/durable"
)

// querySettings are the settings that every query starts with. A query may use 80 % of the engine's
// memory, so that one greedy query fails before the others do.
func (c Config) querySettings() map[string]string {
	return map[string]string{
		"max_memory_usage": strconv.FormatInt(c.MaxMemoryBytes/10*8, 10),
		"max_threads":      strconv.Itoa(c.Threads),
	}
}

// serverSettings are the settings of the engine's configuration file. ClickHouse's defaults are for
// a large server: caches of 5 GiB each, for example. A query takes some ten threads. Up to
// max_thread_pool_free_size idle threads stay for later queries: each takes a megabyte, and they
// make a query of some milliseconds a tenth faster.
func (c Config) serverSettings() [][2]string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cache := number(min(c.MaxMemoryBytes/16, 256<<20))
	smallCache := number(min(c.MaxMemoryBytes/32, 128<<20))
	pool := number(int64(max(2, c.Threads)))
	return [][2]string{
		{"max_server_memory_usage", number(c.MaxMemoryBytes)},
		{"max_thread_pool_size", number(int64(200 + c.Threads*16))},
		{"max_thread_pool_free_size", "32"},
		{"background_pool_size", pool},
		{"background_schedule_pool_size", pool},
		{"mark_cache_size", cache},
		{"primary_index_cache_size", cache},
		{"index_mark_cache_size", smallCache},
		{"text_index_tokens_cache_size", smallCache},
		{"text_index_header_cache_size", smallCache},
		{"text_index_postings_cache_size", smallCache},
		{"vector_similarity_index_cache_size", smallCache},
		{"parquet_metadata_cache_size", smallCache},
		{"query_condition_cache_size", smallCache},
		{"uncompressed_cache_size", "0"},
		{"mlock_executable", "0"},
	}
}

// tableSettings are the defaults of every MergeTree table. libchdb deletes the source parts of a
// merge right after it (old_parts_lifetime = 0). A ClickHouse server keeps them for eight minutes,
// and so do we: merges on a full disk have left parts whose files are empty, and the next start
// then uses the source parts instead.
func (c Config) tableSettings() [][2]string {
	settings := [][2]string{{"old_parts_lifetime", "480"}}
	if c.NoSync {
		return settings
	}
	return append(settings, [][2]string{{"fsync_after_insert", "1"}, {"fsync_part_directory", "1"}, {"min_rows_to_fsync_after_merge", "1"}}...)
}

// writeServerConfig writes the engine's configuration file and returns its path. libchdb reads
// server and table settings from it, but not the settings of queries: see querySettings.
func writeServerConfig(d *dataDir, cfg Config) (string, error) {
	var text strings.Builder
	text.WriteString("<!-- written at each start; changes are lost -->\n<clickhouse>\n")
	for _, s := range cfg.serverSettings() {
		fmt.Fprintf(&text, "    <%[1]s>%[2]s</%[1]s>\n", s[0], s[1])
	}
	if cfg.KeepFree > 0 {
		fmt.Fprintf(&text, "    <storage_configuration><disks><default><keep_free_space_bytes>%d</keep_free_space_bytes></default></disks></storage_configuration>\n", cfg.KeepFree)
	}
	// BACKUP and RESTORE may name any folder: SQL has the rights of this process anyway
	// (docs/embedded-clickhouse.md, "Security").
	text.WriteString("    <backups><allowed_path>/</allowed_path></backups>\n")
	text.WriteString("    <merge_tree>\n")
	for _, s := range cfg.tableSettings() {
		fmt.Fprintf(&text, "        <%[1]s>%[2]s</%[1]s>\n", s[0], s[1])
	}
	text.WriteString("    </merge_tree>\n</clickhouse>\n")
	name := filepath.Join(d.path, configFile)
	if err := durable.Replace(name, []byte(text.String())); err != nil {
		return "", fmt.Errorf("embedded clickhouse: write %s: %w", name, err)
	}
	return name, nil
}

// defaultMemory returns half of the memory of this machine or its container, at least 256 MiB and
// at most 8 GiB. It is 2 GiB if the kernel does not tell the size.
func defaultMemory() int64 {
	const fallback, least, most = 2 << 30, 256 << 20, 8 << 30
	total := machineMemory()
	// The limit of cgroup v2. "max", or no file, means that there is none.
	if text, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && (total == 0 || limit < total) {
			total = limit
		}
	}
	if total == 0 {
		return fallback
	}
	return max(least, min(total/2, most))
}

// machineMemory returns MemTotal of /proc/meminfo in bytes; 0 if it cannot be read.
func machineMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return 0
			}
			return kib << 10
		}
	}
	return 0
}
