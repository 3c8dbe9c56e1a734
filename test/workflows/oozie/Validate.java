import java.io.File;
import javax.xml.transform.Source;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.SchemaFactory;

/** Validate FILE SCHEMA...: against Oozie's schemas, which are in the class path. */
public class Validate {
  public static void main(String[] args) throws Exception {
    Source[] schemas = new Source[args.length - 1];
    for (int i = 1; i < args.length; i++) schemas[i - 1] = new StreamSource(Validate.class.getResource("/" + args[i]).toString());
    SchemaFactory.newDefaultInstance().newSchema(schemas).newValidator().validate(new StreamSource(new File(args[0])));
  }
}
