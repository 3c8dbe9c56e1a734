import azkaban.ServiceProvider;
import azkaban.jobExecutor.Job;
import azkaban.jobtype.JobTypeManager;
import azkaban.utils.Props;
import azkaban.utils.PropsUtils;
import com.google.inject.Guice;
import java.io.File;
import org.apache.log4j.BasicConfigurator;
import org.apache.log4j.Logger;

/** RunJob PLUGINS FLOW NAME [KEY=VALUE...]: NAME.job of the folder FLOW, as Azkaban's executor runs it. A line on standard input cancels it. */
public class RunJob {
  public static void main(String[] args) throws Exception {
    BasicConfigurator.configure();
    ServiceProvider.SERVICE_PROVIDER.setInjector(Guice.createInjector());
    JobTypeManager types = new JobTypeManager(args[0], null, RunJob.class.getClassLoader());
    Props flow = new Props();
    for (int i = 3; i < args.length; i++) flow.put(args[i].split("=", 2)[0], args[i].split("=", 2)[1]);
    Props props = new Props(flow, new File(args[1], args[2] + ".job"));
    props.put("working.dir", args[1]);
    props.put("azkaban.job.id", args[2]);
    Job job = types.buildJobExecutor(args[2], PropsUtils.resolveProps(props), Logger.getLogger("job"));
    Thread canceller = new Thread(() -> {
      try {
        if (System.in.read() >= 0) job.cancel();
      } catch (Exception error) {
        error.printStackTrace();
      }
    });
    canceller.setDaemon(true);
    canceller.start();
    try {
      job.run();
      System.out.println("SUCCEEDED " + job.getJobGeneratedProperties());
    } catch (Exception error) {
      System.out.println("FAILED " + error + " " + error.getCause());
    }
    System.exit(0);
  }
}
