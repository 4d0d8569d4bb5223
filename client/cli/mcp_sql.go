package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mintlake/mintlake/internal/terminal"
)

// analystRole is a role that deploy/clickhouse/analyst.sql creates. Its users can read the database
// mintlake within limits, and nothing else. The embedded engine has no users, so it cannot limit
// what a model may do.
const analystRole = "mintlake_analyst"

// Bounds of one query, besides those of the role.
const (
	sqlRows     = "1000"
	sqlSeconds  = "60"
	sqlBytes    = 1 << 20
	sqlPatience = 90 * time.Second
)

// sqlServer is a ClickHouse server over HTTP.
type sqlServer struct{ url *url.URL }

// newSQLServer parses http://USER@HOST:PORT. The password is in $MINTLAKE_SQL_PASSWORD.
func newSQLServer(address string) (*sqlServer, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User == nil {
		return nil, errors.New("--sql-url: must be like http://analyst@127.0.0.1:8123, with the password in $MINTLAKE_SQL_PASSWORD")
	}
	if password, given := os.LookupEnv("MINTLAKE_SQL_PASSWORD"); given {
		u.User = url.UserPassword(u.User.Username(), password)
	}
	return &sqlServer{u}, nil
}

// ask runs one query and returns the answer, which has at most sqlBytes.
func (s *sqlServer) ask(ctx context.Context, query, format string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, sqlPatience)
	defer cancel()
	u := *s.url
	u.User = nil
	u.RawQuery = url.Values{
		"database": {"mintlake"}, "default_format": {format}, "wait_end_of_query": {"1"}, "max_result_rows": {sqlRows}, "max_execution_time": {sqlSeconds},
	}.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), strings.NewReader(query))
	if err != nil {
		return nil, err
	}
	password, _ := s.url.User.Password()
	request.SetBasicAuth(s.url.User.Username(), password)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		var away *url.Error
		if errors.As(err, &away) {
			err = away.Err // without the URL
		}
		return nil, fmt.Errorf("no answer from ClickHouse at %s: %w", s.url.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, sqlBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("half an answer from ClickHouse at %s: %w", s.url.Host, err)
	case response.StatusCode != http.StatusOK:
		return nil, errors.New(cmp.Or(terminal.Clean(strings.TrimSpace(string(body[:min(len(body), 2000)]))), response.Status))
	case len(body) > sqlBytes:
		return nil, fmt.Errorf("the answer has more than %d bytes: ask for fewer rows or columns", sqlBytes)
	}
	return body, nil
}

// checkRole returns an error unless the user has the role analystRole and may only read: the
// setting readonly is 1 or 2.
func (s *sqlServer) checkRole(ctx context.Context) error {
	answer, err := s.ask(ctx, "SELECT has(currentRoles(), '"+analystRole+"'), getSetting('readonly')", "TSV")
	if err != nil {
		return err
	}
	if roleAndReadonly := strings.TrimSpace(string(answer)); roleAndReadonly != "1\t2" && roleAndReadonly != "1\t1" {
		return fmt.Errorf("the user %s of ClickHouse at %s has not the role %s, or may write: deploy/clickhouse/analyst.sql makes one who reads only (docs/analytics.md, Users and limits)",
			s.url.User.Username(), s.url.Host, analystRole)
	}
	return nil
}

type sqlArgs struct {
	SQL string `json:"sql" jsonschema:"one SELECT of ClickHouse's SQL"`
}

// addSQL adds the tool query_sql.
func (s *sqlServer) addSQL(server *mcp.Server) {
	tool(server, "query_sql", "Ask the registry's tables by SQL (ClickHouse, database mintlake, read only, at most "+sqlRows+" rows, "+sqlSeconds+
		" seconds). SELECT name, comment FROM system.tables WHERE database = 'mintlake' lists tables and views; DESCRIBE TABLE shows columns with their meaning."+writtenByCreators,
		func(ctx context.Context, in sqlArgs) (*told, error) {
			rows, err := s.ask(ctx, in.SQL, "JSONCompact")
			return &told{body: cleanRows(rows)}, err
		})
}

// columnText is what stands between the line breaks and tabs that separate rows and columns.
var columnText = regexp.MustCompile(`[^\n\t]+`)

// cleanRows cleans an answer in any of ClickHouse's formats of text: see terminal.Clean.
func cleanRows(answer []byte) []byte {
	return columnText.ReplaceAllFunc(answer, func(text []byte) []byte { return []byte(terminal.Clean(string(text))) })
}
