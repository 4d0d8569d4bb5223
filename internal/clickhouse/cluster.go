package clickhouse

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// Arguments of Replicated engines: the path of a table's state in Keeper, and the name of the
// replica there. ClickHouse replaces {shard}, {replica}, {database} and {table}. Servers with the
// same path share their rows. With replicaOfShard these are the servers of one shard, with the
// other two constants all servers of the cluster.
const (
	replicaOfShard  = "'/clickhouse/tables/{shard}/{database}/{table}', '{replica}'"
	replicaOfWhole  = "'/clickhouse/tables/{database}/{table}', '{shard}-{replica}'"
	replicaOfRecord = "'/clickhouse/tables/{database}/" + MigrationsTable + "', '{shard}-{replica}'"
)

// Everywhere is the value in Options.Sharding for a small table: every server of a cluster has all
// rows of it.
const Everywhere = "everywhere"

// LocalTable returns the name of the table with the rows of one shard. Under the table's own name
// there is a Distributed table over all shards.
func LocalTable(table string) string { return table + "_local" }

var (
	createTable = regexp.MustCompile(`(?s)^CREATE TABLE IF NOT EXISTS (\w+)\.(\w+) (ON CLUSTER '[^']*')\n(.*)$`)
	alterTable  = regexp.MustCompile(`(?s)^ALTER TABLE (\w+)\.(\w+)( .*)$`)
	ofColumns   = regexp.MustCompile(`(?i)\b(ADD|DROP|RENAME|MODIFY|COMMENT)\s+COLUMN\b`)
)

// spread turns the statements for one machine into those for a cluster. A table becomes two:
// LocalTable, replicated within a shard, and under its own name a Distributed table. All reads and
// writes use the latter, so views and queries are the same as on one machine. An ALTER of columns
// changes both tables, any other ALTER the local one. Other statements stay as they are.
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

// spreadTable returns the statements that create one table in a cluster. rest is the CREATE
// statement after its first line.
func (o Options) spreadTable(database, table, onCluster, rest string) ([]string, error) {
	switch shardingKey := o.Sharding[table]; shardingKey {
	case "":
		return nil, fmt.Errorf("table %s has no sharding key: a cluster needs one", table)
	case Everywhere:
		return []string{"CREATE TABLE IF NOT EXISTS " + database + "." + table + " " + onCluster + "\n" + strings.Replace(rest, replicaOfShard, replicaOfWhole, 1)}, nil
	default:
		local := LocalTable(table)
		return []string{
			"CREATE TABLE IF NOT EXISTS " + database + "." + local + " " + onCluster + "\n" + rest,
			fmt.Sprintf("CREATE TABLE IF NOT EXISTS %[1]s.%[2]s %[3]s\nAS %[1]s.%[4]s\nENGINE = Distributed('%[5]s', '%[1]s', '%[4]s', %[6]s)\n"+
				"COMMENT 'All shards of %[4]s'", database, table, onCluster, local, o.Cluster, shardingKey),
		}, nil
	}
}

// clusterSettings are added to every query to a cluster.
var clusterSettings = ch.Settings{
	// An insert is acknowledged when the shards have the rows. By default it is acknowledged when
	// this server has queued them. That is too early: offsets of Kafka are committed after the
	// acknowledgement.
	"distributed_foreground_insert": 1,
	// A room reads what it wrote a moment ago, and replicas lag behind each other. So all clients
	// use the first replica of a shard that answers.
	"load_balancing":           "in_order",
	"prefer_localhost_replica": 0,
	// A subquery of IN or JOIN reads all shards, not only the one that it runs on.
	"distributed_product_mode": "global",
	// INSERT … SELECT reads all shards and sends each row to its shard.
	"parallel_distributed_insert_select": 0,
	// A query for one mint reads only its shard.
	"optimize_skip_unused_shards": 1,
}

// WithCluster adds the settings that a cluster needs. An empty name changes nothing. Settings of
// the data source name win.
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
