package parts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

// errGone says that a part is not in use any more: it was merged, for example.
var errGone = errors.New("the part is not in use any more")

// codeNoSuchPart is ClickHouse's NO_SUCH_DATA_PART.
const codeNoSuchPart = 232

// folderOfPart is an SQL expression for a row of system.parts: the part's folder if it is on a
// local disk that is not encrypted, else empty.
const folderOfPart = "if(disk_name IN (SELECT name FROM system.disks WHERE type = 'Local' AND NOT is_encrypted), path, '')"

// CheckTable compares the files of all parts of a table with their checksums. broken says what is
// wrong with each part that differs, by the part's name.
func CheckTable(ctx context.Context, conn driver.Conn, database, table string) (broken map[string]string, err error) {
	var all []part
	err = conn.Select(ctx, &all, "SELECT table, name, "+folderOfPart+" AS folder FROM system.parts WHERE database = $1 AND table = $2 AND active ORDER BY name", database, table)
	if err != nil {
		return nil, fmt.Errorf("check %s.%s: read system.parts: %w", database, table, err)
	}
	broken = map[string]string{}
	for i := range all {
		passed, message, err := checkPart(ctx, conn, database, &all[i])
		switch {
		case errors.Is(err, errGone):
		case err != nil:
			return nil, fmt.Errorf("check part %s of %s.%s: %w", all[i].Name, database, table, err)
		case !passed:
			broken[all[i].Name] = message
		}
	}
	return broken, nil
}

// checkPart compares the files of a part with their checksums. If the files are not on this
// machine, ClickHouse does it. message says what is wrong. The error is errGone if the files differ
// because the part is not in use any more.
func checkPart(ctx context.Context, conn driver.Conn, database string, p *part) (passed bool, message string, err error) {
	err = errNotHere
	if p.Folder != "" {
		message, err = checkFiles(ctx, p.Folder)
	}
	switch {
	case errors.Is(err, errNotHere):
		return checkByClickHouse(ctx, conn, database, p)
	case err != nil:
		return false, "", err
	case message == "":
		return true, "", nil
	}
	var used uint64 // 0 if a merge has removed the files meanwhile
	err = conn.QueryRow(ctx, "SELECT count() FROM system.parts WHERE database = $1 AND table = $2 AND name = $3 AND active", database, p.Table, p.Name).Scan(&used)
	if err == nil && used == 0 {
		err = errGone
	}
	return false, message, err
}

// checkByClickHouse lets ClickHouse check the part. A damaged block may keep it busy for hours: see
// checkFiles.
func checkByClickHouse(ctx context.Context, conn driver.Conn, database string, p *part) (passed bool, message string, err error) {
	passed = true
	err = clickhouse.Each(ctx, conn, func(rows driver.Rows) error {
		var name, text string
		var ok bool
		err := rows.Scan(&name, &ok, &text)
		if err == nil && !ok {
			passed, message = false, text
		}
		return err
	}, "CHECK TABLE "+database+"."+p.Table+" PART '"+strings.ReplaceAll(p.Name, "'", "")+"' SETTINGS check_query_single_value_result = 0")
	if err != nil && passed { // a failed check stays a result if the query breaks after it
		return false, "", goneOr(err)
	}
	return passed, message, nil
}

// goneOr returns errGone if err says that ClickHouse has the part no more. It wraps other errors.
func goneOr(err error) error {
	var exception *ch.Exception
	if errors.As(err, &exception) && exception.Code == codeNoSuchPart {
		return errGone
	}
	return fmt.Errorf("check table: %w", err)
}
