package clickhouse

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/mintlake/mintlake/internal/tlsclient"
)

// TLSConfig has the files and the server name for connections with TLS. All fields must be empty if
// the data source name does not ask for TLS.
type TLSConfig struct {
	CAFile     string `koanf:"ca_file" usage:"PEM file of the authorities that sign ClickHouse's certificates; empty: those of the system"`
	CertFile   string `koanf:"cert_file" usage:"PEM file of this client's certificate, where ClickHouse asks for one"`
	KeyFile    string `koanf:"key_file" usage:"PEM file of that certificate's private key"`
	ServerName string `koanf:"server_name" usage:"name that ClickHouse's certificates must hold; empty: the host of each address"`
}

// AccessConfig has the login and the TLS settings. A data source name should not hold a password,
// and it cannot name the files of TLS.
type AccessConfig struct {
	Username, Password string
	TLS                TLSConfig
}

// Access has the login, the TLS settings and the known hosts of a ClickHouse outside this process.
// All connections of a process share one Access: if one connection finds that a host is away, the
// others try that host last.
type Access struct {
	cfg   AccessConfig
	hosts *hosts
}

// NewAccess returns an Access with these settings. It reads no file yet. If logger is nil, nothing
// is logged.
func NewAccess(cfg AccessConfig, logger *slog.Logger) *Access {
	return &Access{cfg: cfg, hosts: newHosts(logger)}
}

// WithAccess makes Open use the login, the TLS settings and the known hosts of access. Nil changes
// nothing.
func WithAccess(access *Access) Option {
	return func(o *options) {
		if access != nil {
			o.access = access
		}
	}
}

// Check returns what is wrong with a data source name and the settings beside it. It reads the
// files, but does not connect.
func (a *Access) Check(dsn string) error {
	o, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	return a.apply(o)
}

// apply adds the login and TLS to o. The user name and the password may each be in a.cfg or in the
// data source name. Different values in both are an error.
func (a *Access) apply(o *ch.Options) error {
	var problems []error
	set := func(key string, value string, into *string) {
		switch {
		case value == "":
		case *into != "" && *into != value:
			problems = append(problems, fmt.Errorf("clickhouse.%s: clickhouse.dsn says another one: take one away", key))
		default:
			*into = value
		}
	}
	set("username", a.cfg.Username, &o.Auth.Username)
	set("password", a.cfg.Password, &o.Auth.Password)
	problems = append(problems, a.applyTLS(o))
	return errors.Join(problems...)
}

// applyTLS loads the files of the TLS settings, if the data source name asks for TLS.
func (a *Access) applyTLS(o *ch.Options) error {
	files := tlsclient.Files{CA: a.cfg.TLS.CAFile, Cert: a.cfg.TLS.CertFile, Key: a.cfg.TLS.KeyFile, ServerName: a.cfg.TLS.ServerName}
	if o.TLS == nil {
		if files != (tlsclient.Files{}) {
			return errors.New("clickhouse.tls: settings, but clickhouse.dsn speaks plain text: it must be https://…, or clickhouse://…?secure=true")
		}
		return nil
	}
	config, err := files.Load("clickhouse.tls.")
	if err != nil {
		return err
	}
	if config.ServerName == "" {
		config.ServerName = o.TLS.ServerName // tls_server_name of the DSN
	}
	// skip_verify of the DSN stays: it is the operator's decision.
	config.InsecureSkipVerify = o.TLS.InsecureSkipVerify
	o.TLS = config
	return nil
}

// secureDSN adds secure=true to an https data source name: the driver uses TLS only with it.
func secureDSN(dsn string) string {
	if !strings.HasPrefix(dsn, "https://") {
		return dsn
	}
	_, query, found := strings.Cut(dsn, "?")
	switch {
	case !found:
		return dsn + "?secure=true"
	case strings.HasPrefix(query, "secure") || strings.Contains(query, "&secure"):
		return dsn
	}
	return dsn + "&secure=true"
}

// withPorts adds ClickHouse's default port to each address without a port.
func withPorts(o *ch.Options) {
	port := map[bool]map[ch.Protocol]string{
		false: {ch.Native: "9000", ch.HTTP: "8123"},
		true:  {ch.Native: "9440", ch.HTTP: "8443"},
	}[o.TLS != nil][o.Protocol]
	for i, addr := range o.Addr {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			o.Addr[i] = net.JoinHostPort(strings.Trim(addr, "[]"), port)
		}
	}
}

// Redacted returns a data source name without user, password, path and parameters:
// http://host:8123,host:8123.
func Redacted(dsn string) string {
	o, err := parseDSN(dsn)
	if err != nil {
		return "(not a ClickHouse DSN)"
	}
	scheme, _, _ := strings.Cut(dsn, "://")
	return scheme + "://" + strings.Join(o.Addr, ",")
}
