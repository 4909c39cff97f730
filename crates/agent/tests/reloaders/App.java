import java.nio.file.Files;
import java.nio.file.Path;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/** Writes the property `version` into a file whenever it is started, and stays. */
@EnableAutoConfiguration
public class App {
  public static void main(String[] arguments) throws Exception {
    var context = SpringApplication.run(App.class, arguments);
    Files.writeString(Path.of("running.txt"), context.getEnvironment().getProperty("version"));
  }
}
