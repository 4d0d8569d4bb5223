package config

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/knadh/koanf/v2"
)

// stars stand for what Dump hides.
const stars = "***"

// maxSecretBytes bounds the size of a secret's file: a larger file is not the one that was meant.
const maxSecretBytes = 4096

// readSecrets reads the files that the `_file` keys name, and sets the secrets to their contents.
// Its error joins all problems. It names the files and never contains a secret.
func readSecrets(k *koanf.Koanf, list []key) error {
	var problems []error
	for _, leaf := range list {
		if !leaf.secret {
			continue
		}
		file := leaf.file().path
		path := k.String(file)
		k.Delete(file)
		if path == "" {
			continue
		}
		if isSet(k.Get(leaf.path)) {
			problems = append(problems, fmt.Errorf("%s and %s: only one can be set", leaf.path, file))
			continue
		}
		value, err := readSecret(path)
		switch {
		case err != nil:
		case leaf.isList():
			err = k.Set(leaf.path, linesOf(value))
		default:
			err = k.Set(leaf.path, value)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
	}
	return errors.Join(problems...)
}

// linesOf returns the lines of a text without the space around them. Empty lines are left out.
func linesOf(text string) (list []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// isSet reports whether a setting has a value: a text or a list that is not empty.
func isSet(value any) bool {
	text := fmt.Sprint(value)
	return value != nil && text != "" && text != "[]"
}

// hide returns what may be shown of a value of the key. A value that is no secret is shown whole,
// and a secret as "***". Of a secret that is a URL, the scheme and the host are shown, and "***"
// for the rest: providers put keys into its user, path and query. A value without a host, such as
// file:PATH, holds no secret and is shown whole.
func (k key) hide(text string) string {
	if !k.secret || text == "" {
		return text
	}
	u, err := url.Parse(text)
	switch {
	case !k.url || err != nil:
		return stars
	case u.Host == "":
		return text
	case u.User == nil && strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == "":
		return text
	}
	return u.Scheme + "://" + u.Host + "/" + stars
}

// refuseHidden refuses a secret whose value is the "***" that Dump shows. If a dump is used as a
// configuration file, its secrets must be put in, or be set in another way.
func refuseHidden(k *koanf.Koanf, list []key, path string, lines map[string]int) error {
	var problems []error
	for _, leaf := range list {
		if value := fmt.Sprint(k.Get(leaf.path)); !leaf.secret || value != stars && !strings.Contains(value, "/"+stars) {
			continue
		}
		at := ""
		if lines[leaf.path] > 0 {
			at = fmt.Sprintf("%s line %d: ", path, lines[leaf.path])
		}
		problems = append(problems, fmt.Errorf("%s%s: %s stands for a secret that a dump left out: set it here, in the environment, or by %s", at, leaf.path, stars, leaf.file().path))
	}
	return errors.Join(problems...)
}

// readSecret returns the content of a file without the line ends behind it.
func readSecret(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxSecretBytes+1))
	if err != nil {
		return "", err
	}
	if len(text) > maxSecretBytes {
		return "", fmt.Errorf("%s holds more than %d bytes, must hold a secret", path, maxSecretBytes)
	}
	value := strings.TrimRight(string(text), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s is empty, must hold a secret", path)
	}
	return value, nil
}
