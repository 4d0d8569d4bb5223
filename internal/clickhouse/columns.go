package clickhouse

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Column is a column that a program writes or reads.
type Column struct {
	Name string
	// Type is the type as ClickHouse writes it, for example "Array(Tuple(String, UInt64))". Empty
	// allows any type.
	Type string
}

// ColumnsError says why a program cannot use a table.
type ColumnsError struct {
	Database, Table string
	// Missing says that there is no such table.
	Missing bool
	// Problems has a text for each column that is missing or has another type.
	Problems []string
}

// Error implements error: it lists all problems in one line.
func (e *ColumnsError) Error() string {
	if e.Missing {
		return fmt.Sprintf("clickhouse table %s.%s does not exist: run `mintlake migrate`", e.Database, e.Table)
	}
	return fmt.Sprintf("clickhouse table %s.%s does not fit this program: %s: run `mintlake migrate`, and use the program of the same version", e.Database, e.Table, strings.Join(e.Problems, "; "))
}

// CheckColumns checks that the table has every wanted column with its type. Other columns do not
// matter. All problems come in one *ColumnsError.
func CheckColumns(ctx context.Context, conn driver.Conn, database, table string, want []Column) error {
	have := map[string]string{}
	if err := Each(ctx, conn, func(rows driver.Rows) error {
		var name, typ string
		err := rows.Scan(&name, &typ)
		have[name] = typ
		return err
	}, "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
		Named("database", database), Named("table", table)); err != nil {
		return fmt.Errorf("read columns of %s.%s: %w", database, table, err)
	}
	if len(have) == 0 {
		return &ColumnsError{Database: database, Table: table, Missing: true}
	}
	var problems []string
	for _, c := range want {
		typ, ok := have[c.Name]
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("column %s %s is missing", c.Name, c.Type))
		case c.Type != "" && squeeze(typ) != squeeze(c.Type):
			problems = append(problems, fmt.Sprintf("column %s is %s, not %s", c.Name, typ, c.Type))
		}
	}
	if len(problems) > 0 {
		return &ColumnsError{Database: database, Table: table, Problems: problems}
	}
	return nil
}

// squeeze removes the spaces that ClickHouse writes in some types and not in others.
func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, ", ", ",")), " ")
}
