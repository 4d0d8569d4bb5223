package clickhouse

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"text/template"
)

// migration is one numbered file.
type migration struct {
	version uint32
	name    string // the file's name
	// checksum is the SHA-256 of the file before its template is rendered, so it is the same on one
	// machine and in a cluster.
	checksum string
	text     string
}

var fileName = regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.sql$`)

// loadMigrations reads every NNNN_name.sql at the root of files. Numbers begin at 1 and have no
// gaps, so the highest applied number shows which migrations are applied.
func loadMigrations(files fs.FS) ([]migration, error) {
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []migration
	for _, entry := range entries {
		if entry.IsDir() || !strings.HasSuffix(entry.Name(), ".sql") {
			continue
		}
		m := fileName.FindStringSubmatch(entry.Name())
		if m == nil {
			return nil, fmt.Errorf("migration %s: the name must be like 0001_token_events.sql", entry.Name())
		}
		version, err := strconv.ParseUint(m[1], 10, 32)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", entry.Name(), err)
		}
		text, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return nil, fmt.Errorf("read migration: %w", err)
		}
		sum := sha256.Sum256(text)
		all = append(all, migration{version: uint32(version), name: entry.Name(), checksum: hex.EncodeToString(sum[:]), text: string(text)})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].name < all[j].name })
	for i, m := range all {
		if int(m.version) != i+1 {
			return nil, fmt.Errorf("migration %s: expected number %04d here: numbers begin at 0001, each once, without gaps", m.name, i+1)
		}
	}
	return all, nil
}

// Options are the options of Migrate.
type Options struct {
	// Database is the name of the database: letters, digits and underscores. Migrate creates the
	// database if it is missing.
	Database string
	// Cluster is the name of the ClickHouse cluster; empty for one machine.
	Cluster string
	// Sharding has for each table the SQL expression that chooses the shard of a row in a cluster,
	// or Everywhere for a table of which every server has all rows.
	Sharding map[string]string
}

var (
	databaseName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	clusterName  = regexp.MustCompile(`^[A-Za-z0-9_.{}-]*$`)
)

func (o Options) validate() error {
	if !databaseName.MatchString(o.Database) {
		return fmt.Errorf("clickhouse database name %q: use letters, digits and underscore", o.Database)
	}
	if !clusterName.MatchString(o.Cluster) {
		return fmt.Errorf("clickhouse cluster name %q: use letters, digits, underscore, dot and dash", o.Cluster)
	}
	return nil
}

// onCluster is a function of the templates: the clause that sends a statement to every server of
// the cluster; empty for one machine.
func (o Options) onCluster() string {
	if o.Cluster == "" {
		return ""
	}
	return "ON CLUSTER '" + o.Cluster + "'"
}

// engine is a function of the templates: it returns a table engine of the MergeTree family, and in
// a cluster its Replicated counterpart.
func (o Options) engine(name string, args ...string) (string, error) {
	if !strings.HasSuffix(name, "MergeTree") || strings.HasPrefix(name, "Replicated") {
		return "", fmt.Errorf("engine %q: name a MergeTree engine without Replicated; the template adds it in a cluster", name)
	}
	if o.Cluster != "" {
		name = "Replicated" + name
		args = append([]string{replicaOfShard}, args...)
	}
	return name + "(" + strings.Join(args, ", ") + ")", nil
}

// statements renders the file's template and splits it into statements. In a cluster, spread then
// turns them into the statements for a cluster.
func (m migration) statements(o Options) ([]string, error) {
	t, err := template.New(m.name).Option("missingkey=error").Funcs(template.FuncMap{"engine": o.engine, "onCluster": o.onCluster}).Parse(m.text)
	if err != nil {
		return nil, fmt.Errorf("migration %s: %w", m.name, err)
	}
	var text strings.Builder
	if err := t.Execute(&text, o); err != nil {
		return nil, fmt.Errorf("migration %s: %w", m.name, err)
	}
	all := split(text.String())
	if len(all) == 0 {
		return nil, fmt.Errorf("migration %s: no statement in it", m.name)
	}
	if o.Cluster != "" {
		if all, err = o.spread(all); err != nil {
			return nil, fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	for _, statement := range all {
		if err := checkStatement(statement, o); err != nil {
			return nil, fmt.Errorf("migration %s: %w", m.name, err)
		}
	}
	return all, nil
}

// split splits a text into statements. Each ends with a semicolon at the end of a line. Lines that
// hold only a comment are left out.
func split(text string) []string {
	var all []string
	var current []string
	flush := func() {
		if s := strings.TrimSpace(strings.Join(current, "\n")); s != "" {
			all = append(all, s)
		}
		current = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		if strings.HasPrefix(strings.TrimSpace(line), "--") {
			continue
		}
		body, ends := strings.CutSuffix(line, ";")
		current = append(current, body)
		if ends {
			flush()
		}
	}
	flush()
	return all
}

var (
	create    = regexp.MustCompile(`(?i)^\s*CREATE\s`)
	guarded   = regexp.MustCompile(`(?i)\bIF\s+(NOT\s+)?EXISTS\b|^\s*CREATE\s+OR\s+REPLACE\b`)
	drop      = regexp.MustCompile(`(?i)^\s*DROP\s`)
	addOrDrop = regexp.MustCompile(`(?i)^\s*ALTER\s.*\b(ADD|DROP|RENAME)\s+(COLUMN|INDEX|PROJECTION|CONSTRAINT)\b`)
	ddl       = regexp.MustCompile(`(?i)^\s*(CREATE|ALTER|DROP|RENAME|EXCHANGE|TRUNCATE|OPTIMIZE)\s`)
	onClause  = regexp.MustCompile(`(?i)\bON\s+CLUSTER\b`)
)

// checkStatement refuses a statement that would fail when a killed migration is repeated, or that
// would reach only one server of the cluster.
func checkStatement(statement string, o Options) error {
	first, _, _ := strings.Cut(statement, "\n")
	flat := strings.ReplaceAll(statement, "\n", " ")
	if (create.MatchString(flat) || drop.MatchString(flat) || addOrDrop.MatchString(flat)) && !guarded.MatchString(flat) {
		return fmt.Errorf("%q needs IF [NOT] EXISTS or OR REPLACE: a run that was killed midway is repeated", first)
	}
	if o.Cluster != "" && ddl.MatchString(flat) && !onClause.MatchString(flat) {
		return fmt.Errorf("%q needs {{onCluster}}: it would reach one server only", first)
	}
	return nil
}
