package parts

import (
	"context"
	"fmt"
)

// part is a row of system.parts.
type part struct {
	Table     string `ch:"table" json:"-"`
	Partition string `ch:"partition_id" json:"partition"`
	Name      string `ch:"name" json:"name"`
	// Min and Max are the numbers of the first and the last insert in the part. A merged part has
	// the range of all parts that it was made of.
	Min   int64  `ch:"min_block_number" json:"min"`
	Max   int64  `ch:"max_block_number" json:"max"`
	Rows  uint64 `ch:"rows" json:"rows"`
	Bytes uint64 `ch:"bytes_on_disk" json:"-"`
	// Folder is the folder with the part's files; empty if they are not plain files, see
	// folderOfPart.
	Folder string `ch:"folder" json:"-"`
}

type partKey struct{ table, name string }

func (p *part) key() partKey { return partKey{p.Table, p.Name} }

// covers reports whether p has all rows of other: p is the same part, or was merged from it.
func (p *part) covers(other *part) bool {
	return p.Partition == other.Partition && p.Min <= other.Min && p.Max >= other.Max
}

// table is a table that is looked at. A table that was dropped and made again has the same Name and
// another Folder.
type table struct {
	Name   string `ch:"name"`
	Folder string `ch:"folder"`
}

// tables lists the tables of the MergeTree family without a TTL. Parts of tables with a TTL are
// dropped when their rows expire.
func (w *Watch) tables(ctx context.Context) (list []table, err error) {
	err = w.deps.Conn.Select(quiet(ctx), &list, "SELECT name, arrayElement(data_paths, 1) AS folder FROM system.tables "+
		"WHERE database = $1 AND engine LIKE '%MergeTree' AND engine_full NOT LIKE '% TTL %' ORDER BY name", w.cfg.Database)
	if err != nil {
		return nil, fmt.Errorf("read system.tables: %w", err)
	}
	return list, nil
}

// activeParts lists the parts in use of these tables.
func (w *Watch) activeParts(ctx context.Context, tables []table) (list []part, err error) {
	var all []part
	err = w.deps.Conn.Select(quiet(ctx), &all, "SELECT table, partition_id, name, min_block_number, max_block_number, rows, bytes_on_disk, "+folderOfPart+
		" AS folder FROM system.parts WHERE database = $1 AND active ORDER BY table, partition_id, min_block_number", w.cfg.Database)
	if err != nil {
		return nil, fmt.Errorf("read system.parts: %w", err)
	}
	known := map[string]bool{}
	for _, t := range tables {
		known[t.Name] = true
	}
	for _, p := range all {
		if known[p.Table] {
			list = append(list, p)
		}
	}
	return list, nil
}

// detachedParts lists the parts that ClickHouse has put aside, as damage.
func (w *Watch) detachedParts(ctx context.Context) ([]Damage, error) {
	var rows []struct {
		Table  string `ch:"table"`
		Name   string `ch:"name"`
		Reason string `ch:"reason"`
	}
	err := w.deps.Conn.Select(quiet(ctx), &rows, "SELECT table, name, ifNull(reason, '') AS reason FROM system.detached_parts WHERE database = $1", w.cfg.Database)
	if err != nil {
		return nil, fmt.Errorf("read system.detached_parts: %w", err)
	}
	list := make([]Damage, len(rows))
	for i, row := range rows {
		list[i] = Damage{Table: row.Table, Part: row.Name, Kind: Detached, Reason: row.Reason}
	}
	return list, nil
}
