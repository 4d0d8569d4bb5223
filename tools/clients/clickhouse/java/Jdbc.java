// clickhouse-jdbc against the embedded ClickHouse.
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

public class Jdbc {
    static void check(boolean ok, String what) {
        if (!ok) {
            throw new AssertionError(what);
        }
    }

    static long number(Statement statement, String query) throws SQLException {
        try (ResultSet rows = statement.executeQuery(query)) {
            check(rows.next(), "no row: " + query);
            return rows.getLong(1);
        }
    }

    public static void main(String[] args) throws Exception {
        String url = "jdbc:clickhouse:" + System.getenv("MINTLAKE_CLICKHOUSE") + "/mintlake";
        String table = "default.client_jdbc";
        Properties properties = new Properties();
        properties.setProperty("user", "default");
        properties.setProperty("password", "");
        try (Connection connection = DriverManager.getConnection(url, properties); Statement statement = connection.createStatement()) {
            check(number(statement, "SELECT count() FROM tokens") > 0, "tokens");
            String mint;
            try (ResultSet rows = statement.executeQuery("SELECT mint, symbol, decimals FROM tokens WHERE symbol != '' LIMIT 1")) {
                check(rows.next(), "a token");
                mint = rows.getString("mint");
                check(mint.length() >= 32, mint);
            }
            try (PreparedStatement prepared = connection.prepareStatement("SELECT count() FROM tokens WHERE mint = ?")) {
                prepared.setString(1, mint);
                try (ResultSet rows = prepared.executeQuery()) {
                    check(rows.next() && rows.getLong(1) == 1, "by parameter");
                }
            }
            statement.execute("CREATE OR REPLACE TABLE " + table + " (n UInt64, s Nullable(String)) ENGINE = MergeTree ORDER BY n");
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO " + table + " (n, s) VALUES (?, ?)")) {
                for (int i = 0; i < 5000; i++) {
                    insert.setLong(1, i);
                    insert.setString(2, i % 7 == 0 ? null : "row'\n\n" + i);
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            check(number(statement, "SELECT count() FROM " + table) == 5000, "inserted");
            check(number(statement, "SELECT countIf(s = concat('row\\'\\n\\n', toString(n))) FROM " + table) == 4285, "texts");
            long sum = 0;
            try (ResultSet rows = statement.executeQuery("SELECT n FROM " + table + " CROSS JOIN numbers(100) AS more")) {
                while (rows.next()) {
                    sum += rows.getLong(1);
                }
            }
            check(sum == 100L * 5000 * 4999 / 2, "a large result: " + sum);
            try {
                statement.executeQuery("SELECT * FROM no_such_table");
                throw new AssertionError("no error");
            } catch (SQLException e) {
                check(e.getMessage().contains("UNKNOWN_TABLE"), e.getMessage());
            }
            boolean listed = false;
            try (ResultSet rows = connection.getMetaData().getTables(null, "mintlake", "tokens%", null)) {
                while (rows.next()) {
                    listed |= rows.getString("TABLE_NAME").equals("tokens");
                }
            }
            check(listed, "metadata");
            statement.execute("DROP TABLE " + table);
        }
        System.out.println("clickhouse-jdbc: queries, parameters, batches, metadata");
    }
}
