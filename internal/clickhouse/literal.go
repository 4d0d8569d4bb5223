package clickhouse

import "strings"

// Literal returns a text as a literal of ClickHouse's SQL.
func Literal(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(text) + "'"
}
