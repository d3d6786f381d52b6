// Follows config maps with an informer through faults; once it sees the one called "end" it prints
// what it holds, by name and version.
import * as k8s from '@kubernetes/client-node';

const [, , kubeconfig, namespace] = process.argv;
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(k8s.CoreV1Api);
const path = `/api/v1/namespaces/${namespace}/configmaps`;
const informer = k8s.makeInformer(config, path, () => core.listNamespacedConfigMap({ namespace }));

const again = () => informer.start().catch(() => setTimeout(again, 5));
informer.on('error', () => setTimeout(again, 5));
const look = (object) => {
  if (object.metadata.name !== 'end') return;
  const held = informer.list().map((each) => [each.metadata.name, each.metadata.resourceVersion]);
  console.log(JSON.stringify(Object.fromEntries(held)));
  process.exit(0);
};
informer.on('add', look);
informer.on('update', look);
again();
