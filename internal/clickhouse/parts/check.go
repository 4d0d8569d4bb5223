package parts

import (
	"context"
	"fmt"
	"strings"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Check reads all files of a part of table, which is database.table, and compares them with their checksums. message is ClickHouse's own
// when they differ.
func Check(ctx context.Context, conn driver.Conn, table, name string) (passed bool, message string, err error) {
	results, err := checks(ctx, conn, "CHECK TABLE "+table+" PART '"+strings.ReplaceAll(name, "'", "")+"' SETTINGS check_query_single_value_result = 0")
	for _, r := range results {
		if r.Passed == 0 {
			return false, r.Message, err
		}
	}
	return err == nil, "", err
}

// CheckTable does so with all parts of a table; broken holds the message of each part that differs, by name.
func CheckTable(ctx context.Context, conn driver.Conn, table string) (broken map[string]string, err error) {
	results, err := checks(ctx, conn, "CHECK TABLE "+table+" SETTINGS check_query_single_value_result = 0")
	broken = map[string]string{}
	for _, r := range results {
		if r.Passed == 0 {
			broken[r.Part] = r.Message
		}
	}
	return broken, err
}

type checkResult struct {
	Part    string `ch:"part_path"`
	Passed  uint8  `ch:"is_passed"`
	Message string `ch:"message"`
}

func checks(ctx context.Context, conn driver.Conn, query string) (results []checkResult, err error) {
	rows, err := conn.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	defer func() { _ = rows.Close() }() // its error is rows.Err's
	for rows.Next() {
		var r checkResult
		var passed bool
		if err := rows.Scan(&r.Part, &passed, &r.Message); err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
		if passed {
			r.Passed = 1
		}
		results = append(results, r)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	return results, nil
}
