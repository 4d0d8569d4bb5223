package clickhouse

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// Where a replicated table keeps its state in Keeper, and the name of a replica there. {shard} and
// {replica} are macros of the servers.
const (
	replicaOfShard  = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
	replicaOfWhole  = "'/clickhouse/tables/{database}/{table}', '{shard}-{replica}'"
	replicaOfRecord = "'/clickhouse/tables/{database}/" + MigrationsTable + "', '{shard}-{replica}'"
)

// Everywhere is the sharding of a small table that every server of a cluster has whole.
const Everywhere = "everywhere"

// LocalTable is the part of a cluster's table that one server holds. The table's own name is the
// Distributed table over all of them.
func LocalTable(table string) string { return table + "_local" }

var (
	createTable = regexp.MustCompile(`(?s)^CREATE TABLE IF NOT EXISTS (\w+)\.(\w+) (ON CLUSTER '[^']*')\n(.*)$`)
	alterTable  = regexp.MustCompile(`(?s)^ALTER TABLE (\w+)\.(\w+)( .*)$`)
	ofColumns   = regexp.MustCompile(`(?i)\b(ADD|DROP|RENAME|MODIFY|COMMENT)\s+COLUMN\b`)
)

// spread turns the statements of one machine into those of a cluster. A table becomes two:
// LocalTable, replicated within a shard, and under its own name a Distributed table, which all
// reads and writes go through; so no view and no query differs from those of one machine. What
// changes columns goes to both, other changes of a table to the local one, and views stay as they
// are.
func (o Options) spread(statements []string) ([]string, error) {
	var all []string
	for _, statement := range statements {
		if m := createTable.FindStringSubmatch(statement); m != nil {
			both, err := o.spreadTable(m[1], m[2], m[3], m[4])
			if err != nil {
				return nil, err
			}
			all = append(all, both...)
			continue
		}
		m := alterTable.FindStringSubmatch(statement)
		if m == nil || o.Sharding[m[2]] == "" || o.Sharding[m[2]] == Everywhere {
			all = append(all, statement)
			continue
		}
		all = append(all, "ALTER TABLE "+m[1]+"."+LocalTable(m[2])+m[3])
		if ofColumns.MatchString(m[3]) {
			all = append(all, statement)
		}
	}
	return all, nil
}

func (o Options) spreadTable(database, table, onCluster, rest string) ([]string, error) {
	switch by := o.Sharding[table]; by {
	case "":
		return nil, fmt.Errorf("table %s has no sharding key: a cluster needs one", table)
	case Everywhere:
		return []string{"CREATE TABLE IF NOT EXISTS " + database + "." + table + " " + onCluster + "\n" + strings.Replace(rest, replicaOfShard, replicaOfWhole, 1)}, nil
	default:
		local := LocalTable(table)
		return []string{
			"CREATE TABLE IF NOT EXISTS " + database + "." + local + " " + onCluster + "\n" + rest,
			fmt.Sprintf("CREATE TABLE IF NOT EXISTS %[1]s.%[2]s %[3]s\nAS %[1]s.%[4]s\nENGINE = Distributed('%[5]s', '%[1]s', '%[4]s', %[6]s)\n"+
				"COMMENT 'All shards of %[4]s'", database, table, onCluster, local, o.Cluster, by),
		}, nil
	}
}

// clusterSettings go with every query to a cluster.
var clusterSettings = ch.Settings{
	// An insert is acknowledged when the shard has it, and not when this server has written it down
	// for later: offsets are committed behind it.
	"distributed_foreground_insert": 1,
	// A room reads what it wrote a moment ago. Replicas follow with a delay, so everybody uses the
	// first one of each shard that is well.
	"load_balancing":           "in_order",
	"prefer_localhost_replica": 0,
	// IN and JOIN see all shards, and not each shard its own part.
	"distributed_product_mode": "global",
	// INSERT … SELECT reads all shards, and sends each row where it belongs.
	"parallel_distributed_insert_select": 0,
	// What asks for one mint asks its shard only.
	"optimize_skip_unused_shards": 1,
}

// WithCluster opens with the settings that a cluster needs; an empty name changes nothing. What the
// data source name says wins.
func WithCluster(name string) Option {
	return func(o *options) {
		if name == "" {
			return
		}
		merged := maps.Clone(clusterSettings)
		maps.Copy(merged, o.driver.Settings)
		o.driver.Settings = merged
	}
}
