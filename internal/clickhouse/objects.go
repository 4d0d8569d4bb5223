package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// ErrMissingTable says that a table which an applied migration made is not there.
var ErrMissingTable = errors.New("a table is missing")

// object is a table, view or dictionary. statements are its last CREATE and each ALTER after that.
// They make the object anew.
type object struct {
	table      bool
	migration  string
	statements []string
}

var objectStatement = regexp.MustCompile(`(?is)^\s*(CREATE|ALTER|DROP)\s+(?:OR\s+REPLACE\s+)?(TABLE|VIEW|DICTIONARY)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?\w+\.(\w+)`)

// objects returns the tables, views and dictionaries that exist after the migrations, by name.
// rendered has the statements of each migration.
func objects(migrations []migration, rendered [][]string) map[string]*object {
	all := map[string]*object{}
	for i, statements := range rendered {
		for _, statement := range statements {
			m := objectStatement.FindStringSubmatch(statement)
			if m == nil {
				continue
			}
			name := m[3]
			switch strings.ToUpper(m[1]) {
			case "CREATE":
				all[name] = &object{strings.EqualFold(m[2], "TABLE"), migrations[i].name, []string{statement}}
			case "ALTER":
				if o := all[name]; o != nil {
					o.statements = append(o.statements, statement)
				}
			case "DROP":
				delete(all, name)
			}
		}
	}
	return all
}

// mend makes the missing views and dictionaries of applied migrations again: if a view's file is
// gone, ClickHouse starts without it and without an error. made has a text for each of them. A
// missing table is an error, because its rows are lost.
func mend(ctx context.Context, conn driver.Conn, migrations []migration, rendered [][]string, opt Options) (made []string, err error) {
	expected := objects(migrations, rendered)
	if len(expected) == 0 {
		return nil, nil
	}
	var rows []struct {
		Name string `ch:"name"`
	}
	if err := conn.Select(ctx, &rows, "SELECT name FROM system.tables WHERE database = $1", opt.Database); err != nil {
		return nil, fmt.Errorf("read system.tables: %w", err)
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.Name] = true
	}
	var missing []error
	for _, name := range slices.Sorted(maps.Keys(expected)) {
		o := expected[name]
		switch {
		case there[name]:
			continue
		case o.table:
			missing = append(missing, fmt.Errorf("%w: %s.%s of migration %s: its definition on disk is gone or damaged: restore a backup, or run `mintlake rebuild`",
				ErrMissingTable, opt.Database, name, o.migration))
			continue
		}
		for _, statement := range o.statements {
			if err := conn.Exec(ctx, statement); err != nil {
				return made, fmt.Errorf("%s.%s is missing, make it again: %w", opt.Database, name, err)
			}
		}
		made = append(made, name+", which was missing")
	}
	return made, errors.Join(missing...)
}
