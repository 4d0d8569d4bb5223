package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mintlake/mintlake/gateway/admin"
)

func moment(t *time.Time) string {
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
		add("expires", moment(r.ExpiresAt))
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

// showSecret prints a key that was just made.
func showSecret(w io.Writer, k *admin.IssuedAnswer) {
	fmt.Fprintf(w, "key\t%s\n\tshown this once; Mintlake keeps only its hash\n", k.Key)
	showKey(w, &k.KeyAnswer)
}

func showKey(w io.Writer, k *admin.KeyAnswer) {
	fmt.Fprintf(w, "name\t%s %s\nstate\t%s\n", k.Product, k.Name, k.State)
	if k.Environment != "" {
		fmt.Fprintf(w, "environment\t%s\n", k.Environment)
	}
	if k.CreatedAt != nil {
		fmt.Fprintf(w, "created\t%s by %s\n", moment(k.CreatedAt), k.CreatedBy)
	}
	if k.RevokedAt != nil {
		fmt.Fprintf(w, "revoked\t%s by %s %s\n", moment(k.RevokedAt), k.RevokedBy, k.RevokeReason)
	}
	fmt.Fprintf(w, "rules\t%s\n", rulesText(&k.Rules))
	for _, s := range k.Secrets {
		until := ""
		if s.EndsAt != nil && k.State == "active" {
			until = ", works until " + moment(s.EndsAt)
			if s.EndsAt.Before(time.Now()) {
				until = ", ended " + moment(s.EndsAt)
			}
		}
		fmt.Fprintf(w, "secret\t%s… of %s%s\n", s.Prefix, moment(s.IssuedAt), until)
	}
}

// listLine prints one key of the list, as a line of JSON or of the table.
func listLine(w io.Writer, raw json.RawMessage, asJSON, all bool) error {
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
	environment := k.Environment
	if environment == "" {
		environment = "-"
	}
	_, err := fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k.Product, k.Name, environment, k.State, secret, moment(k.CreatedAt), rulesText(&k.Rules))
	return err
}

// changeText describes a change of a key in one line.
func changeText(c *admin.ChangeAnswer) string {
	var parts []string
	if c.Void {
		parts = append(parts, "void: another change came first")
	}
	if c.Prefix != "" {
		parts = append(parts, c.Prefix+"…")
	}
	if c.GraceEnds != nil {
		parts = append(parts, "grace until "+moment(c.GraceEnds))
	}
	if c.Rules != nil {
		parts = append(parts, "rules: "+rulesText(c.Rules))
	}
	if c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	return strings.Join(parts, "; ")
}
