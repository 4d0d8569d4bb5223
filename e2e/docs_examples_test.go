package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// operation is what the tests read of one of an OpenAPI document.
type operation struct {
	OperationID string `json:"operationId"`
	Example     string `json:"x-example"`
	Parameters  []struct {
		Ref      string `json:"$ref"`
		Name     string
		In       string
		Required bool
		Example  any
	}
	RequestBody struct {
		Content map[string]struct{ Example json.RawMessage }
	} `json:"requestBody"`
	Responses map[string]struct{ Content map[string]json.RawMessage }
}

// ofMainnet is what the documents' examples name and the demo chain does not have, each with the
// query that finds the like.
var ofMainnet = map[string]string{
	"58oQChx4yWmvKdwLLZzBi4ChoCc2fqCUWBkwMihLYQo2": "SELECT pool FROM mintlake.liquidity_changes LIMIT 1",
	"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM": "SELECT owner FROM mintlake.wallet_transfers WHERE mint = '" + mintUSDC + "' AND direction = 'in'" +
		" AND owner IN (SELECT owner FROM mintlake.wallet WHERE mint = '" + mintUSDC + "' AND amount > 0) LIMIT 1",
}

// examplesAnswer runs the examples of a surface's document, which it serves itself: the commands,
// and each parameter's and body's example. What comes back is what the document says, and not
// empty.
func examplesAnswer(t *testing.T, s *shell, base string, up *instance) {
	t.Helper()
	status, source := fetch(base + "/openapi.json")
	require.Equal(t, http.StatusOK, status)
	for named, query := range ofMainnet {
		ours := up.query(query)
		require.NotEmpty(t, ours, query)
		source = bytes.ReplaceAll(source, []byte(named), []byte(ours[0]))
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(source))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("openapi.json", value))
	var document struct {
		Paths      map[string]map[string]operation
		Components struct {
			Parameters map[string]struct{ Example any }
		}
	}
	require.NoError(t, json.Unmarshal(source, &document))
	require.NotEmpty(t, document.Paths)
	ran := 0
	for path, methods := range document.Paths {
		for method, op := range methods {
			t.Run(op.OperationID, func(t *testing.T) {
				check := func(t *testing.T, body []byte) {
					t.Helper()
					ran++
					if op.Responses["200"].Content["application/json"] == nil {
						require.NotEmpty(t, body, op.OperationID)
						return
					}
					pointer := "openapi.json#/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + method + "/responses/200/content/application~1json/schema"
					schema, err := compiler.Compile(pointer)
					require.NoError(t, err)
					holdAnswer(t, schema, op.OperationID, body)
				}
				if op.Example != "" {
					// a stream ends as by Ctrl-C
					typed := strings.NewReplacer("{base_url}", base, "curl -N", "curl -N --max-time 3").Replace(op.Example)
					out, err := s.command(t, t.Context(), typed).Output()
					require.NoError(t, err, "%s\n%s", op.Example, out)
					if !strings.Contains(op.Example, " -o ") {
						check(t, out)
					}
				}
				for _, request := range requestsOf(path, op, func(name string) any { return document.Components.Parameters[name].Example }) {
					body := string(op.RequestBody.Content["application/json"].Example)
					if strings.Contains(path, "stream") || strings.EqualFold(method, http.MethodPost) && body == "" {
						continue
					}
					status, answer := patient(t.Context(), strings.ToUpper(method), base+request, body)
					require.Equal(t, http.StatusOK, status, "%s: %s", request, answer)
					check(t, answer)
				}
			})
		}
	}
	require.Greater(t, ran, 5)
}

// patient is send that asks again while the node says that it is busy.
func patient(ctx context.Context, method, address, body string) (status int, answer []byte) {
	for deadline := time.Now().Add(hang); ; time.Sleep(500 * time.Millisecond) {
		status, answer = send(ctx, method, address, body)
		again := slices.Contains([]int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable}, status)
		if !again || time.Now().After(deadline) {
			return status, answer
		}
	}
}

// requestsOf are the requests that an operation's examples make: those of the required parameters
// alone, and with each of the others.
func requestsOf(path string, op operation, component func(name string) any) (requests []string) {
	query := url.Values{}
	var more []url.Values
	for _, p := range op.Parameters {
		if name, ok := strings.CutPrefix(p.Ref, "#/components/parameters/"); ok {
			if example := component(name); example != nil {
				path = strings.ReplaceAll(path, "{"+name+"}", fmt.Sprint(example))
			}
			continue
		}
		switch {
		case p.Example == nil:
		case p.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
		case p.Required || p.Name == "amount_in" || p.Name == "slippage_bps": // a quote needs these
			query[p.Name] = valuesOf(p.Example)
		default:
			more = append(more, url.Values{p.Name: valuesOf(p.Example)})
		}
	}
	requests = append(requests, path+"?"+query.Encode())
	for _, one := range more {
		requests = append(requests, path+"?"+query.Encode()+"&"+one.Encode())
	}
	return requests
}

// valuesOf are an example's values in a query: a list's members are one each.
func valuesOf(example any) (values []string) {
	list, ok := example.([]any)
	if !ok {
		return []string{fmt.Sprint(example)}
	}
	for _, member := range list {
		values = append(values, fmt.Sprint(member))
	}
	return values
}

// holdAnswer holds a body to its schema. No list of it is empty.
func holdAnswer(t *testing.T, schema *jsonschema.Schema, operationID string, body []byte) {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	require.NoError(t, err, "%s: %s", operationID, body)
	require.NoError(t, schema.Validate(value), "%s: %s", operationID, body)
	if list, ok := value.([]any); ok {
		require.NotEmpty(t, list, operationID)
	}
	object, _ := value.(map[string]any)
	for name, field := range object {
		if list, ok := field.([]any); ok && !slices.Contains([]string{"unknown", "reasons", "warnings", "residual", "security", "unlisted", "lookup_tables", "unknowns"}, name) {
			require.NotEmpty(t, list, "%s: %s", operationID, name)
		}
	}
}
