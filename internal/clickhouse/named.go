package clickhouse

import (
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
)

// Named returns the argument for {name:Type} in a query. A number is sent as text. A time is sent
// in UTC and without fractions of a second. Its type must be DateTime('UTC'): the server would read
// a DateTime in its own time zone.
func Named(name string, value any) driver.NamedValue {
	switch of := value.(type) {
	case uint64:
		value = strconv.FormatUint(of, 10)
	case int:
		value = strconv.Itoa(of)
	case time.Time:
		value = of.UTC().Format(time.DateTime)
	}
	return driver.NamedValue{Name: name, Value: value}
}
