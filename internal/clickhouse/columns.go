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
	// Type is ClickHouse's own text of the type, for example "Array(Tuple(String, UInt64))". Empty:
	// any type will do.
	Type string
}

// ColumnsError names everything that keeps a program from using a table.
type ColumnsError struct {
	Database, Table string
	// Missing is set when the whole table is.
	Missing bool
	// Problems are one text a column.
	Problems []string
}

// Error tells all problems in one line.
func (e *ColumnsError) Error() string {
	if e.Missing {
		return fmt.Sprintf("clickhouse table %s.%s does not exist: run `mintlake migrate`", e.Database, e.Table)
	}
	return fmt.Sprintf("clickhouse table %s.%s does not fit this program: %s: run `mintlake migrate`, and use the program of the same version", e.Database, e.Table, strings.Join(e.Problems, "; "))
}

// CheckColumns makes sure that the table has every wanted column in the wanted type; further
// columns do not matter. What is wrong comes as one *ColumnsError, not the first column only.
func CheckColumns(ctx context.Context, conn driver.Conn, database, table string, want []Column) error {
	rows, err := conn.Query(ctx, "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
		driver.NamedValue{Name: "database", Value: database}, driver.NamedValue{Name: "table", Value: table})
	if err != nil {
		return fmt.Errorf("read columns of %s.%s: %w", database, table, err)
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's, below
	have := map[string]string{}
	for rows.Next() {
		var name, typ string
		if err := rows.Scan(&name, &typ); err != nil {
			return fmt.Errorf("read columns of %s.%s: %w", database, table, err)
		}
		have[name] = typ
	}
	if err := rows.Err(); err != nil {
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

// squeeze takes the blanks out that ClickHouse's formatting of a type may or may not have.
func squeeze(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, ", ", ",")), " ")
}
