/** Repositories: their types, and the operations of a page. */
import { Client, type Resource } from "./client.js";
import type { Fields, Finding } from "./forms.js";
export interface RepositorySpec {
    title: string;
    type: "local" | "github" | "githubEnterprise" | "git" | "bitbucket" | "gitlab";
    git?: {
        url: string;
        branch?: string;
        path?: string;
    };
    sync?: {
        enabled: boolean;
        target?: "folder" | "instance" | "folderless";
        intervalSeconds?: number;
    };
    workflows?: ("write" | "branch")[];
}
export interface RepositoryStatus {
    observedGeneration?: number;
    fieldErrors?: Finding[];
    health?: {
        healthy: boolean;
        checked: number;
        message?: string[];
    };
    sync?: {
        state: string;
        message: string[];
        lastRef?: string;
    };
    stats?: {
        group: string;
        resource: string;
        count: number;
    }[];
}
export type Repository = Resource<RepositorySpec, RepositoryStatus>;
export declare const GROUP = "/apis/provisioning.grafana.app/v0alpha1";
export declare function repositories(server: string, namespace: string): Client<Repository>;
/** The values of the form. */
export interface RepositoryForm {
    name: string;
    title: string;
    url: string;
    branch: string;
}
/** The form's fields by path of the server. */
export declare const FIELDS: Fields<keyof RepositoryForm>;
export declare function toRepository(form: RepositoryForm): Repository;
/** Wait for the controller by a watch: the first state, then changes only. */
export declare function reconciledByWatch(client: Client<Repository>, repository: Repository): Promise<Repository>;
/** Wait for the controller, or for any other condition of the object, by polling. */
export declare function reconciledByPoll(client: Client<Repository>, name: string, isDone?: (repository: Repository) => boolean, { interval, attempts }?: {
    interval?: number | undefined;
    attempts?: number | undefined;
}): Promise<Repository>;
/** The values that a list shows next to each name; one request for all objects. */
export interface Badge {
    name: string;
    text: "pending" | "healthy" | "1 error" | `${number} errors`;
}
export declare function badges(client: Client<Repository>): Promise<Badge[]>;
export declare function badge(repository: Repository): Badge["text"];
