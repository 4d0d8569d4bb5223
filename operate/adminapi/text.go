package adminapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/gateway/admin"
)

// Moment formats a time in the local zone; "-" if there is none.
func Moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05 MST")
}

// rulesText formats the rules in one line; "-" means none.
func rulesText(r *admin.RulesAnswer) string {
	var parts []string
	add := func(name, value string) {
		if value != "" && value != "0" {
			parts = append(parts, name+" "+value)
		}
	}
	if r.ExpiresAt != nil {
		add("expires", Moment(r.ExpiresAt))
	}
	add("origins", strings.Join(r.Origins, ","))
	add("addresses", strings.Join(r.Addresses, ","))
	add("methods", strings.Join(r.Methods, ","))
	add("requests/s", strconv.Itoa(r.RequestsPerSecond))
	add("streams", strconv.Itoa(r.Streams))
	add("addresses/stream", strconv.Itoa(r.StreamAddresses))
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, "; ")
}

// ShowSecret prints a key that was just made.
func ShowSecret(w io.Writer, k *admin.IssuedAnswer) {
	fmt.Fprintf(w, "key\t%s\n\tshown this once; Mintlake keeps only its hash\n", k.Key)
	ShowKey(w, &k.KeyAnswer)
}

// ShowKey prints a key: state, rules, and secrets by their beginnings.
func ShowKey(w io.Writer, k *admin.KeyAnswer) {
	fmt.Fprintf(w, "name\t%s %s\nstate\t%s\n", k.Product, k.Name, k.State)
	if k.Environment != "" {
		fmt.Fprintf(w, "environment\t%s\n", k.Environment)
	}
	if k.CreatedAt != nil {
		fmt.Fprintf(w, "created\t%s by %s\n", Moment(k.CreatedAt), k.CreatedBy)
	}
	if k.RevokedAt != nil {
		fmt.Fprintf(w, "revoked\t%s by %s %s\n", Moment(k.RevokedAt), k.RevokedBy, k.RevokeReason)
	}
	fmt.Fprintf(w, "rules\t%s\n", rulesText(&k.Rules))
	for _, s := range k.Secrets {
		until := ""
		if s.EndsAt != nil && k.State == "active" {
			until = ", works until " + Moment(s.EndsAt)
			if s.EndsAt.Before(time.Now()) {
				until = ", ended " + Moment(s.EndsAt)
			}
		}
		fmt.Fprintf(w, "secret\t%s… of %s%s\n", s.Prefix, Moment(s.IssuedAt), until)
	}
}

// ListLine prints one key of the list, as a line of JSON or of the table. It leaves out keys that
// have ended, unless all is true.
func ListLine(w io.Writer, raw json.RawMessage, asJSON, all bool) error {
	var k admin.KeyAnswer
	if err := json.Unmarshal(raw, &k); err != nil {
		return fmt.Errorf("a key of the admin API's answer cannot be read: %w", err)
	}
	switch {
	case !all && k.State != "active" && k.State != "configured":
		return nil
	case asJSON:
		_, err := fmt.Fprintf(w, "%s\n", raw)
		return err
	}
	secret := "-"
	if len(k.Secrets) > 0 {
		secret = k.Secrets[0].Prefix + "…"
	}
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.Product, k.Name, cmp.Or(k.Environment, "-"), k.State, secret, Moment(k.CreatedAt), rulesText(&k.Rules))
	return err
}

// ChangeText describes a change of a key in one line.
func ChangeText(c *admin.ChangeAnswer) string {
	var parts []string
	if c.Void {
		parts = append(parts, "void: another change came first")
	}
	if c.Prefix != "" {
		parts = append(parts, c.Prefix+"…")
	}
	if c.GraceEnds != nil {
		parts = append(parts, "grace until "+Moment(c.GraceEnds))
	}
	if c.Rules != nil {
		parts = append(parts, "rules: "+rulesText(c.Rules))
	}
	if c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	return strings.Join(parts, "; ")
}

// ShowUsage prints rows of usage.
func ShowUsage(w io.Writer, answer *admin.UsageAnswer) {
	fmt.Fprintln(w, "WHEN\tKEY\tMETHOD\tREQUESTS\tREFUSED\tBYTES\tUNITS\tSTREAMS\tADDRESSES")
	for i := range answer.Rows {
		r := &answer.Rows[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\n", Moment(r.Time), cmp.Or(strings.TrimSpace(r.Product+" "+r.Key), "-"), cmp.Or(r.Method, "-"),
			r.Requests, r.Refused, r.Bytes, r.Units, r.Streams, r.Addresses)
	}
	if answer.More {
		fmt.Fprintln(w, "there are more rows: ask for less time, or tell fewer apart")
	}
}
